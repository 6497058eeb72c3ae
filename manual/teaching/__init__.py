"""What a teacher needs: the quiz, and the worksheets."""
